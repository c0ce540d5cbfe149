(** Theorem 1'': two streams of acts that an observer can hardly tell apart
    ([src/tarry/core/proofs/theorem.md], [src/tarry/core/labels.py]). *)

From Coq Require Import ZArith QArith Lia Lqa List Bool.
Import ListNotations.
From Tarry Require Import Sums.

(** * Labels *)

(** An act: who, on what, and the tick in which it arrives. *)
Record act := Act { actor : nat; target : nat; tick : Z }.

(** Two acts of one actor on different targets, at most [window] ticks apart. *)
Definition partners (window : Z) (x y : act) : bool :=
  (actor x =? actor y)%nat && negb (target x =? target y)%nat && (Z.abs (tick x - tick y) <=? window)%Z.

(** An act is batched if the stream has a partner of it, on either side. *)
Definition batched (window : Z) (stream : list act) (x : act) : bool :=
  existsb (partners window x) stream.

(** The labels of all acts of a stream. *)
Definition labels (window : Z) (stream : list act) : list bool :=
  map (batched window stream) stream.

(** How many labels are "batched". *)
Definition count_batched (labels : list bool) : nat := count_occ bool_dec labels true.

(** Who has a partner is one to it. *)
Lemma partners_mutual window x y : partners window x y = partners window y x.
Proof.
  unfold partners. rewrite (Nat.eqb_sym (actor x)), (Nat.eqb_sym (target x)).
  now replace (Z.abs (tick x - tick y)) with (Z.abs (tick y - tick x)) by lia.
Qed.

(** What the definition says, in words: some act of the stream is a partner. *)
Lemma batched_by_a_partner window stream x :
  batched window stream x = true <-> exists y, In y stream /\ partners window x y = true.
Proof. apply existsb_exists. Qed.

Section TwoStories.
Variables window G : Z.
Hypothesis G_not_negative : (0 <= G)%Z.

(** * Two stories about the same acts *)

(** Places: the acts in an order of their own, each as it truly is and as the other story has it. What an
    act says stands at its place, and is seen in both. *)
Variable places : list (act * act).

Definition truth : list act := map fst places.
Definition story : list act := map snd places.

(** What the story may change of an act: it may give it to any actor and delay it by 0..G ticks. In the
    story it must not be batched; and if its tick changes, it must be batched in truth. (The theorem's set M
    is the acts that the story changes.) *)
Definition may_stand_for (y x : act) : Prop :=
  y = x \/
  (target y = target x /\ (0 <= tick y - tick x <= G)%Z /\
   batched window story y = false /\
   (tick y <> tick x -> batched window truth x = true)).

Hypothesis neighbours : forall x y, In (x, y) places -> may_stand_for y x.

(** What stands at a place is in the true stream, *)
Lemma in_truth x y : In (x, y) places -> In x truth.
Proof. intros. change x with (fst (x, y)). now apply in_map. Qed.

(** and what the story has there is in the story. *)
Lemma in_story x y : In (x, y) places -> In y story.
Proof. intros. change y with (snd (x, y)). now apply in_map. Qed.

(** Whoever is batched in the story has not been changed. *)
Lemma batched_unchanged x y : In (x, y) places -> batched window story y = true -> y = x.
Proof.
  intros here label. destruct (neighbours x y here) as [same | (_ & _ & unbatched & _)]; [assumption |].
  congruence.
Qed.

(** Whoever is batched in neither keeps its tick. *)
Lemma unbatched_stays x y : In (x, y) places -> batched window truth x = false -> tick y = tick x.
Proof.
  intros here label. destruct (neighbours x y here) as [-> | (_ & _ & _ & moved)]; [reflexivity |].
  destruct (Z.eq_dec (tick y) (tick x)) as [| changed]; [assumption |].
  specialize (moved changed). congruence.
Qed.

(** Nobody moves by more than G, or back. *)
Lemma shift_in_range x y : In (x, y) places -> (0 <= tick y - tick x <= G)%Z.
Proof. intros here. destruct (neighbours x y here) as [-> | (_ & shift & _)]; [lia | assumption]. Qed.

(** (c) Labels only fall: an act that is batched in the story is batched in truth. It stands unchanged, and
    so does its partner, whose partner it is: both are in truth as well. *)
Lemma labels_only_fall : forall x y, In (x, y) places ->
  batched window story y = true -> batched window truth x = true.
Proof.
  intros x y here label. pose proof (batched_unchanged x y here label) as ->.
  apply batched_by_a_partner in label as (z & there & together).
  apply in_map_iff in there as ([z' z2] & <- & there). simpl in together.
  assert (z2 = z') as ->.
  { apply (batched_unchanged z' z2 there). apply batched_by_a_partner.
    exists x. split; [exact (in_story x x here) | now rewrite partners_mutual]. }
  apply batched_by_a_partner. exists z'. split; [exact (in_truth z' z' there) | assumption].
Qed.

(** * How many labels differ *)

Definition differs (x y : act) : bool := xorb (batched window truth x) (batched window story y).

Fixpoint count_differing (some : list (act * act)) : nat :=
  match some with
  | [] => 0
  | (x, y) :: others => (if differs x y then 1 else 0) + count_differing others
  end.

(** The number n of the theorem. *)
Definition lost : nat := count_differing places.

(** As labels only fall, that is how many more acts are batched in truth than in the story. *)
Lemma lost_is_the_difference :
  count_batched (labels window truth) = (lost + count_batched (labels window story))%nat.
Proof.
  unfold lost, labels.
  assert (forall some, incl some places ->
    count_batched (map (batched window truth) (map fst some)) =
    (count_differing some + count_batched (map (batched window story) (map snd some)))%nat) as each.
  { induction some as [| [x y] some IH]; intros inside; [reflexivity |].
    pose proof (labels_only_fall x y (inside _ (or_introl eq_refl))) as fall.
    specialize (IH (fun z there => inside z (or_intror there))).
    unfold count_batched in *. simpl. unfold differs.
    destruct (batched window truth x), (batched window story y); simpl; lia. }
  apply each. apply incl_refl.
Qed.

(** * What is seen *)

(** The laws of the delays and their ratio; an act waits for its label for [hold] ticks. *)
Variables (b u : Z -> Q) (R : Q) (hold : Z).

(** How likely an act of a stream is to be released at tick o. *)
Definition release (stream : list act) (x : act) (o : Z) : Q :=
  (if batched window stream x then b else u) (o - tick x - hold)%Z.

(** Delays are independent: chances multiply. An outcome is the list of the releases, place by place. *)
Fixpoint all_released (stream some : list act) (outcome : list Z) : Q :=
  match some, outcome with
  | [], [] => 1
  | x :: others, o :: more => release stream x o * all_released stream others more
  | _, _ => 0
  end.

Definition chance (stream : list act) (outcome : list Z) : Q := all_released stream stream outcome.

(** How likely it is that one of a list of outcomes is seen. *)
Fixpoint chance_of_any (stream : list act) (outcomes : list (list Z)) : Q :=
  match outcomes with
  | [] => 0
  | outcome :: others => chance stream outcome + chance_of_any stream others
  end.

Hypothesis b_not_negative : forall k, 0 <= b k.
Hypothesis u_not_negative : forall k, 0 <= u k.
(** What a law must keep: (a) and (b) prove it for theirs. *)
Hypothesis dominated : forall k s, (0 <= s <= G)%Z -> b k <= R * u (k - s)%Z.

(** Chances are not negative: of one release, *)
Lemma release_not_negative stream x o : 0 <= release stream x o.
Proof. unfold release. destruct (batched window stream x); auto. Qed.

(** and of all. *)
Lemma all_not_negative stream some : forall outcome, 0 <= all_released stream some outcome.
Proof.
  induction some as [| x some IH]; intros [| o more]; simpl; try lra.
  apply Qmult_le_0_compat; [apply release_not_negative | apply IH].
Qed.

(** Each act by itself: a label that differs costs the factor R, everything else nothing. *)
Lemma each_act : forall x y o, In (x, y) places ->
  release truth x o <= (if differs x y then R else 1) * release story y o.
Proof.
  intros x y o here. pose proof (labels_only_fall x y here) as fall.
  unfold release, differs.
  destruct (batched window truth x) eqn:in_truth_label, (batched window story y) eqn:in_story_label; simpl.
  - (* batched in both: not changed *)
    rewrite (batched_unchanged x y here in_story_label). lra.
  - (* batched in truth alone: b against u, 0..G ticks later *)
    replace (o - tick y - hold)%Z with (o - tick x - hold - (tick y - tick x))%Z by ring.
    apply dominated, shift_in_range, here.
  - (* batched in the story alone: never *)
    now specialize (fall eq_refl).
  - (* unbatched in both: its tick has not changed *)
    rewrite (unbatched_stays x y here in_truth_label). lra.
Qed.

(** One outcome: the factors multiply. *)
Lemma one_outcome : forall outcome, chance truth outcome <= power R lost * chance story outcome.
Proof.
  unfold chance, lost.
  assert (forall some, incl some places -> forall outcome,
    all_released truth (map fst some) outcome <=
    power R (count_differing some) * all_released story (map snd some) outcome) as each.
  { induction some as [| [x y] some IH]; intros inside [| o more]; simpl; try lra.
    pose proof (each_act x y o (inside _ (or_introl eq_refl))) as this.
    specialize (IH (fun z there => inside z (or_intror there)) more).
    apply Qle_trans with
      ((if differs x y then R else 1) * release story y o *
       (power R (count_differing some) * all_released story (map snd some) more)).
    - apply Qmult_le_compat_nonneg; split;
        try assumption; [apply release_not_negative | apply all_not_negative].
    - destruct (differs x y); simpl; apply Qle_lteq; right; ring. }
  intros. apply each, incl_refl.
Qed.

(** (c) Theorem 1''. Whatever set of outcomes is seen: in truth it is at most R^n times as likely as in the
    story. *)
Theorem theorem_1 : forall outcomes,
  chance_of_any truth outcomes <= power R lost * chance_of_any story outcomes.
Proof.
  induction outcomes as [| outcome others IH]; simpl; [lra |].
  pose proof (one_outcome outcome). lra.
Qed.

End TwoStories.
